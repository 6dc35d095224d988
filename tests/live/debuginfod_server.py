"""For debuginfod.t: serves /buildid/ID/debuginfo from a folder and notes what was asked for; or takes connections and says nothing.

usage: debuginfod_server.py FOLDER LOG PORTFILE [silent]
"""
import http.server
import os
import socket
import sys
import time

folder, log, portfile = sys.argv[1:4]


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args):
        super().__init__(*args, directory=folder)

    def log_message(self, fmt, *args):
        with open(log, "a") as f:
            f.write(self.path + "\n")


def tell(port):
    with open(portfile + ".new", "w") as f:
        f.write(str(port))
    os.rename(portfile + ".new", portfile)


parent = os.getppid()
if sys.argv[4:] == ["silent"]:
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(16)
    tell(s.getsockname()[1])
    while os.getppid() == parent:
        time.sleep(0.5)
else:
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.timeout = 0.5
    tell(server.server_port)
    while os.getppid() == parent:
        server.handle_request()

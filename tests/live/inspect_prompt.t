#!/usr/bin/env bash
# where: host 6.1
# needs: root
# timeout: 240
# The prompt of inspect: lines from a script, and on a terminal (tmux): editing, history, completion, pipes, files, Ctrl-C.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
cd "$SONDE_TMP" || exit 1
script() { printf '%s\n' "$@" | "$SONDE" inspect -; }

# ---- a script --------------------------------------------------------------------------------------------------------------------
is "$(script 'init_task.pid' '# a comment' '' '  p init_task.pid')" "$(printf 'init_task.pid = $1 = 0\ninit_task.pid = $1 = 0')" "each line is a command or an expression"
is "$(script 'q' 'init_task.pid')" "" "q ends it"
is "$(script 'set 1' '$current->pid' | tail -1)" '$current->pid = $1 = 1' "set: \$current is that task"
like "$(script 'set kthreadd' 'set' | tail -5)" '^COMMAND: "kthreadd"$' "set: by name; without one it says which"
like "$(script 'set kthreadd' 'bt')" ' kthreadd at ' "set: bt without a task is of it"
is "$(script 'ps 1 | wc -l')" 2 "a pipe to a program"
is "$(script 'ps | grep -c systemd-or-another' 2>&1)" 0 "another one"
script 'ps 1 > out' 'ps 1 >> out' >shown
is "$(cat shown)$(wc -l <out)" 4 "> and >> write files"
is "$(script 'eval (6 | 1)' | tail -1 | tail -c 4)" 111 "a | in parentheses is C's"
is "$(script 'eval init_task.mm > x; head -1 x')" "hexadecimal: 0" "what follows > is the shell's, whole"
is "$(script '! echo one two')" "one two" "!PROGRAM"
like "$(script 'eval 0x2000')" '^    decimal: 8192$' "eval"
like "$(script 'help')" '^  bt +print kernel stacks' "help"
like "$(script 'help ps')" 'inspect ps \[OPTIONS\]' "help COMMAND"
printf 'init_task.pid\ninit_task.tgid\ninit_task.prio\n' >lines
is "$("$SONDE" inspect - <lines | sed 's/ .*//' | tr '\n' ' ')" "init_task.pid init_task.tgid init_task.prio " "a file: each line once"
is "$(script '! cat' 'init_task.pid')" 'init_task.pid = $1 = 0' "a program does not read the script"
script 'no_such_thing' 'init_task.pid' >got 2>err
is "$?$(cat got)" '1init_task.pid = $1 = 0' "after an error it goes on, and says so at the end"
like "$(cat err)" "no symbol 'no_such_thing'" "with the message of the command"
for line in 'ps "' '| grep x' '-' 'set no-such-task' 'set 1 2'; do
	script "$line" >got 2>err
	is "$?" 1 "refused: $line"
done
exits 129 "no prompt without a terminal" "$SONDE" inspect
exits 129 "--json goes with a command" "$SONDE" inspect --json -

# ---- a terminal ------------------------------------------------------------------------------------------------------------------
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "the prompt on a terminal"
	done_testing
	exit
fi
export TMUX_TMPDIR=$SONDE_TMP
unset TMUX
term() { tmux -f /dev/null -L "sonde-prompt-$$" "$@"; }
trap 'term kill-server 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
shows() { term capture-pane -p 2>/dev/null | grep -Eq -- "$wait_for"; }
screen_has() { wait_for=$1; wait_until shows; }
fresh() { term send-keys C-l; }
term new-session -d -x 110 -y 40 "env TERM=screen LESS=FRSX $SONDE inspect; echo ENDED; sleep 100"
screen_has '^sonde>'
ok $? "a prompt" || diag "$(term capture-pane -p)"
term send-keys 'init_tsk.pid' C-a Right Right Right Right Right Right a Enter
screen_has '^init_task\.pid = \$1 = 0$'
ok $? "a line that was edited" || diag "$(term capture-pane -p)"
term send-keys Up BSpace BSpace BSpace 'tgid' Enter
screen_has '^init_task\.tgid = \$1 = 0$'
ok $? "Up brings the last line back" || diag "$(term capture-pane -p)"
term send-keys 'whatis vfs_rea' Tab
screen_has '^sonde> whatis vfs_read'
ok $? "Tab completes a symbol" || diag "$(term capture-pane -p)"
term send-keys C-u 'fore' Tab 'RU ps' C-u
term send-keys 'struct list_hea' Tab Enter
screen_has '^SIZE: 16$'
ok $? "and a type" || diag "$(term capture-pane -p)"
term send-keys 'struct task_struct.tgi' Tab Enter
screen_has 'pid_t tgid;'
ok $? "and a member" || diag "$(term capture-pane -p)"
fresh
term send-keys 'mo' Tab Tab
screen_has '^mod +mount'
ok $? "two of several: they are listed" || diag "$(term capture-pane -p)"
term send-keys C-c
fresh
term send-keys '! echo begun; sleep 300' Enter
screen_has '^begun$'
term send-keys C-c
screen_has '^(\^C)?sonde> *$'
ok $? "Ctrl-C ends the command, not the prompt" || diag "$(term capture-pane -p)"
term send-keys 'ps 1 | tail -1' Enter
screen_has ' [0-9a-f]{16}  [A-Z]{2} '
ok $? "and the next one runs" || diag "$(term capture-pane -p)"
term send-keys C-d
screen_has '^ENDED$'
ok $? "Ctrl-D ends the prompt" || diag "$(term capture-pane -p)"
done_testing

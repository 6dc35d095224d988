#include "view/html_live.h"

#include "view/markup.h"
#include "view/page.h"

#include <string.h>

static void put_part(const struct page_part *p, struct strbuf *to)
{
	strbuf_add(to, p->text, p->len);
}

int html_live(const char *title, const struct strbuf *about, struct strbuf *to)
{
	put_part(&page_live[0], to);
	markup_text(title, strlen(title), to);
	put_part(&page_live[1], to);
	/* "</script" in a text would end the element: in JSON it can be written another way. */
	for (size_t i = 0; i < about->len; i++) {
		if (about->data[i] == '<')
			strbuf_str(to, "\\u003c");
		else
			strbuf_char(to, about->data[i]);
	}
	put_part(&page_live[2], to);
	return about->err ? about->err : to->err;
}

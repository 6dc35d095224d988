#include "session/named_run.h"
#include "session/recording.h"
#include "stream/run.h"

#include <errno.h>

void named_run_begin(struct named_run *r, struct source *src, struct names *names)
{
	*r = (struct named_run){ .src = src, .names = names };
}

int named_run_feed(struct named_run *r, struct sink *sink, unsigned workers, struct diag *d)
{
	return stream_run(r->src, sink, workers, &r->tables, d);
}

int named_run_resolve(struct named_run *r, unsigned want)
{
	return r->names->ops->resolve(r->names, &r->src->catalog, &r->tables.frames, want,
				      &r->named);
}

int named_run(struct named_run *r, struct source *src, struct sink *sink,
	      const struct named_run_opts *o)
{
	named_run_begin(r, src, recording_names(o->symbols, src, o->names));
	r->own_names = true;
	if (!r->names)
		return -ENOMEM;
	unsigned workers =
		o->split_reads ? recording_split_reads(src, sink, o->workers) : o->workers;
	int err = named_run_feed(r, sink, workers, o->symbols->diag);
	if (!err)
		err = named_run_resolve(r, o->want);
	if (!err && o->expand)
		err = names_expand(&r->named, &r->tables.frames, &r->tables.chains);
	return err;
}

void named_run_done(struct named_run *r)
{
	run_tables_done(&r->tables);
	if (r->own_names && r->names)
		r->names->ops->free(r->names);
	*r = (struct named_run){ 0 };
}

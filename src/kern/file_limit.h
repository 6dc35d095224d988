/* How many files this process may have open: events, programs and their links take one each. */
#pragma once

/* As far as it goes, to a million at most. 1: there may be more than before, 0: not. */
int file_limit_raise(void);

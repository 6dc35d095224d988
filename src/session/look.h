/* A sink that keeps nothing: a run over a source only to learn which frames there are. */
#pragma once

#include "model/source.h"

/* needs: NEED_LEAF, NEED_FRAMES. */
struct sink look_sink(unsigned needs);

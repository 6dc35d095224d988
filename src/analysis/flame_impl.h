/* Shared by the parts of analysis/flame. */
#pragma once

#include "analysis/flame.h"

/* Numbers frames, tasks, trees and strings anew, by what they are. Rows of frames in the pool keep the old numbers: frame_rank (the caller frees
 * it, also after an error) leads from those to the new ones. */
int flame_order(struct flame_build *b, u32 **frame_rank) must_check;

/* Shared by the parts of analysis/flame. */
#pragma once

#include "analysis/flame.h"

/* Numbers frames, tasks, trees and strings anew, by what they are. */
int flame_order(struct flame_build *b) must_check;

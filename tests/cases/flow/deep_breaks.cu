// Nested arms, more than a warp has convergence barriers. The innermost one may leave the loop, and
// every fourth one may continue with the next round.
#define KERNEL deep_breaks
#define GOES_ON(level) (level % 4 == 3)
#define INNERMOST                                                                                             \
    if (digest % 4 == 0)                                                                                      \
        break;                                                                                                \
    digest += round;
#include "deep_arms.h"

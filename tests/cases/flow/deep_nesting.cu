// Nested arms, more than a warp has convergence barriers. The fourth one may continue with the next
// round.
#define KERNEL deep_nesting
#define GOES_ON(level) (level == 3)
#define INNERMOST digest += round;
#include "deep_arms.h"

#include "random.h"

uint32_t hw_random_next(hw_random_t *random)
{
    uint64_t old = random->state;
    random->state = old * 6364136223846793005u + random->increment;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27), rotation = (uint32_t)(old >> 59);
    return (shifted >> rotation) | (shifted << (-rotation & 31));
}

void hw_random_init(hw_random_t *random, uint64_t seed, uint64_t stream)
{
    random->state = 0;
    random->increment = (stream << 1) | 1;
    hw_random_next(random);
    random->state += seed;
    hw_random_next(random);
}

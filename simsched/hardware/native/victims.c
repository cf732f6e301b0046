#include "victims.h"

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

int32_t hw_search_next(hw_search_t *search, const hw_victims_t *victims, hw_random_t *random)
{
    while (search->group < victims->n_groups) {
        int32_t begin = victims->ptr[search->group], size = victims->ptr[search->group + 1] - begin;
        if (search->visited < size) {
            if (search->visited == 0 || victims->n_groups == 1)
                search->first = hw_random_below(random, size);
            else
                search->first = search->first + 1 < size ? search->first + 1 : 0;
            search->visited++;
            return victims->victim[begin + search->first];
        }
        search->group++;
        search->visited = 0;
    }
    return HW_NONE;
}

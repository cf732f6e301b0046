/*
 * Word count in three steps: map tasks count the words of their part of the text in a table of their own, shuffle tasks
 * sort the entries of one table into a bucket per reduce task, reduce tasks add up the buckets of their words.
 *
 * Shuffles and reduces clear what they have read, so that one that comes too early finds nothing.
 *
 * A word is a number below the size of the vocabulary; each reduce task has a range of words.
 */
#include <string.h>

#include "counted.h"

enum { GIVEN = 1, TEXT = 2, TABLES = 3, BUCKETS = 4, TOTALS = 5 }; /* arrays */

/*
 * params: 1 words of the vocabulary, 2 numbers of a table with padding, 3 map tasks, 4 reduce tasks, 5 entries of a
 * bucket with padding, 6 numbers of the totals of a reduce task with padding
 * arguments: number of the map or reduce task; first word of its text, word after the last
 */

typedef struct {
    int32_t word, count;
} entry_t;

static int32_t *table_of(const hw_call_t *call, int64_t map)
{
    return (int32_t *)call->arrays[TABLES] + map * call->params[2];
}

/* The first entry of a bucket holds the number of the others. */
static entry_t *bucket_of(const hw_call_t *call, int64_t map, int64_t reduce)
{
    return (entry_t *)call->arrays[BUCKETS] + (map * call->params[4] + reduce) * call->params[5];
}

static int64_t first_word(const hw_call_t *call, int64_t reduce)
{
    return call->params[1] * reduce / call->params[4];
}

static void initialise(const hw_call_t *call)
{
    const int32_t *given = call->arrays[GIVEN];
    const int64_t first = call->args[1];
    int32_t *text = call->arrays[TEXT], *table = table_of(call, call->args[0]);
    count_run(call);
    memset(table, 0, (size_t)call->params[2] * sizeof(*table));
    memcpy(text + first, given + first, (size_t)(call->args[2] - first) * sizeof(*text));
    /* So that no page is touched for the first time while words are counted. */
    memset(bucket_of(call, call->args[0], 0), 0, (size_t)(call->params[4] * call->params[5]) * sizeof(entry_t));
    for (int64_t reduce = call->args[0]; reduce < call->params[4]; reduce += call->params[3])
        memset((int64_t *)call->arrays[TOTALS] + reduce * call->params[6], 0, (size_t)call->params[6] * sizeof(int64_t));
}

static void map(const hw_call_t *call)
{
    const int32_t *text = call->arrays[TEXT];
    int32_t *table = table_of(call, call->args[0]);
    count_run(call);
    for (int64_t i = call->args[1]; i < call->args[2]; i++)
        table[text[i]]++;
}

static void shuffle(const hw_call_t *call)
{
    const int64_t map = call->args[0], n_reduces = call->params[4];
    int32_t *table = table_of(call, map);
    count_run(call);
    for (int64_t reduce = 0; reduce < n_reduces; reduce++) {
        entry_t *bucket = bucket_of(call, map, reduce);
        const int64_t end = first_word(call, reduce + 1);
        int32_t n_entries = 0;
        for (int64_t word = first_word(call, reduce); word < end; word++) {
            bucket[n_entries + 1] = (entry_t){(int32_t)word, table[word]}; /* the next one overwrites it if it is 0 */
            n_entries += table[word] > 0;
            table[word] = 0;
        }
        bucket[0] = (entry_t){0, n_entries};
    }
}

static void reduce(const hw_call_t *call)
{
    const int64_t reduce = call->args[0], first = first_word(call, reduce);
    int64_t *totals = (int64_t *)call->arrays[TOTALS] + reduce * call->params[6];
    count_run(call);
    memset(totals, 0, (size_t)call->params[6] * sizeof(*totals));
    for (int64_t map = 0; map < call->params[3]; map++) {
        entry_t *bucket = bucket_of(call, map, reduce);
        for (int32_t i = 1; i <= bucket[0].count; i++)
            totals[bucket[i].word - first] += bucket[i].count;
        bucket[0].count = 0;
    }
}

HW_PROGRAM(word_count, {"initialise", initialise, NULL}, {"map", map, NULL}, {"shuffle", shuffle, NULL},
           {"reduce", reduce, NULL});

/*
 * Programs for the task runtime: what the tasks of a measured program compute.
 *
 * A program is a line `..._PROGRAM(NAME, ...)` in a file in programs/, and a function of the same name in Python that
 * builds its task graph, its arrays and the arguments of each task (simsched/hardware/program.py). C functions are pure
 * in this sense: they read and write the arrays only where the accesses of their task say so, keep nothing,
 * allocate nothing, and never fail. What may run at the same time follows from the graph alone.
 *
 * All arrays belong to Python, which also checks the results against another computation of them.
 */
#ifndef HW_PROGRAM_H
#define HW_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    void *const *arrays;     /* the program's arrays, in the order in which Python lists them */
    const int64_t *params;   /* integers that hold for all tasks: sizes, strides */
    const double *constants; /* the same as doubles */
    const int64_t *args;     /* arguments of this task */
    int64_t iteration;       /* 0 in the initialisation, then 1, 2, ... */
    int32_t task;
} hw_call_t;

typedef void (*hw_function_t)(const hw_call_t *call);

/* What tasks of a class do: before they spawn children, and after all of these have ended; NULL: nothing. */
typedef struct {
    const char *name;
    hw_function_t body, join;
} hw_class_t;

typedef struct {
    const char *name;
    const hw_class_t *classes;
    int32_t n_classes;
} hw_program_t;

/* Defines a program by its classes, each {name, body, join}. */
#define HW_PROGRAM(program, ...)                                                                                       \
    static const hw_class_t program##_classes[] = {__VA_ARGS__};                                                       \
    extern const hw_program_t hw_program_##program;                                                                    \
    const hw_program_t hw_program_##program = {#program, program##_classes,                                            \
                                               sizeof(program##_classes) / sizeof(*program##_classes)}

#endif

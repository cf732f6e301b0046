/* simsched kernel: public header. */
#ifndef SSK_H
#define SSK_H

/* Version of the kernel, a static string the caller must not free. */
const char *ssk_version(void);

#endif

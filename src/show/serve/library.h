/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libmicrohttpd (0.9.71 or later) that serve uses. They are loaded by its first
   call, as the drivers load client libraries: no other verb needs the library, or its GnuTLS. */
#ifndef ROWLOCK_SERVE_LIBRARY_H
#define ROWLOCK_SERVE_LIBRARY_H

#include <microhttpd.h>

#define SERVE_FUNCTIONS(XX)                                \
    XX(MHD_start_daemon)                                   \
    XX(MHD_quiesce_daemon)                                 \
    XX(MHD_stop_daemon)                                    \
    XX(MHD_get_connection_info)                            \
    XX(MHD_suspend_connection)                             \
    XX(MHD_resume_connection)                              \
    XX(MHD_lookup_connection_value)                        \
    XX(MHD_create_response_from_buffer)                    \
    XX(MHD_create_response_from_buffer_with_free_callback) \
    XX(MHD_add_response_header)                            \
    XX(MHD_queue_response)                                 \
    XX(MHD_destroy_response)

struct serve_library {
#define SERVE_XX(function) __typeof__(function) *function;
    SERVE_FUNCTIONS(SERVE_XX)
#undef SERVE_XX
};

/* NULL after a message if it is not installed. */
const struct serve_library *serve_library(void);

#endif

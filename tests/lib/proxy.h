/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A man in the middle: forwards between clients and a database server on 127.0.0.1, knows where a
 * message of the protocol ends, and cuts the connection, or falls silent, after so many of them.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

enum proxy_direction { PROXY_TO_SERVER, PROXY_TO_CLIENT };
/* DOWN: cut, and whoever connects is turned away until it is armed anew. */
enum proxy_fault { PROXY_NONE, PROXY_CUT, PROXY_STALL, PROXY_DOWN };

struct proxy;

/* In front of `port` of 127.0.0.1, in a thread of its own; `postgresql`: else MariaDB's protocol. */
struct proxy *proxy_start(int port, int postgresql);
void proxy_stop(struct proxy *proxy);
int proxy_port(const struct proxy *proxy);
/* The fault strikes when `messages` more were forwarded in that direction, counted over all
   connections there are now and later. */
void proxy_arm(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
               int messages);
/* Waits until every connection is over: the caller has closed them, but their last words may still
   be on their way, and would be counted as the next one's. */
void proxy_settle(struct proxy *proxy);
/* Whether it has struck; connections made later are served well again. */
int proxy_has_struck(struct proxy *proxy);
/* Round trips: how often a client has spoken after the server, or first, over all connections. */
long proxy_trips(struct proxy *proxy);
/* Forwards no more and closes everything: the server sees that the clients are gone. */
void proxy_cut_all(struct proxy *proxy);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A proxy between clients and a database server on 127.0.0.1. It finds the message boundaries of
 * the protocol, and cuts the connection, or stops forwarding, after a given number of messages.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

enum proxy_direction { PROXY_TO_SERVER, PROXY_TO_CLIENT };
/* DOWN: cuts, and refuses new connections until it is armed again. HOLD: see proxy_hold. HALF: ends
   that direction, and the other one works. HANG: leaves new connections in the queue of the system,
   without an answer, until it is armed again and proxy_cut_all is called. */
enum proxy_fault {
    PROXY_NONE,
    PROXY_CUT,
    PROXY_STALL,
    PROXY_DOWN,
    PROXY_HOLD,
    PROXY_HALF,
    PROXY_HANG
};

struct proxy;

/* Listens in front of `port` of 127.0.0.1, in a thread. `postgresql` 0: the protocol is
   MariaDB's; -1: another one, where all that is sent before the other end answers is a message. */
struct proxy *proxy_start(int port, int postgresql);
void proxy_stop(struct proxy *proxy);
int proxy_port(const struct proxy *proxy);
/* The fault occurs after `messages` more messages in that direction, counted over all present
   and later connections. */
void proxy_arm(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
               int messages);
/* As proxy_arm. The fault: for that time the connection forwards nothing in that direction; -1:
   without limit. The other direction works. */
void proxy_hold(struct proxy *proxy, enum proxy_direction direction, int messages, int ms);
/* As proxy_arm, or as proxy_hold with PROXY_HOLD. The fault occurs inside the next message, after
   its head: the other end has received a part of it. */
void proxy_split(struct proxy *proxy, enum proxy_fault fault, enum proxy_direction direction,
                 int messages, int ms);
/* Waits until every connection has ended. The caller has closed them, but their last messages
   may still be in flight, and would be counted for the next connection. */
void proxy_settle(struct proxy *proxy);
/* Whether the fault has occurred; later connections work normally. */
int proxy_has_struck(struct proxy *proxy);
/* The same, and from then on the fault does not occur: a message without a reply, which is still on
   its way to the proxy, would be due after the call that sent it has returned. */
int proxy_disarm(struct proxy *proxy);
/* Round trips over all connections: how often a client sent first, or after the server. */
long proxy_trips(struct proxy *proxy);
/* Stops forwarding and closes every connection: the server sees its clients disappear. */
void proxy_cut_all(struct proxy *proxy);

#endif

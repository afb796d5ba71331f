/* SPDX-License-Identifier: Apache-2.0 */
/* The verb help: prints all verbs, or the help of one. */
#include "command/command.h"

int cmd_help(struct command *command)
{
    const struct verb *verb;

    read_operands(command, 1);
    if (command->n_operands == 0) {
        print_overview(command->verbs);
        return STATUS_OK;
    }
    verb = find_verb(command->verbs, command->operands[0]);
    if (!verb)
        usage_error(command, "unknown verb: '%s'%s", shown(command->operands[0]),
                    suggest_verb(command->verbs, command->operands[0]));
    print_help(verb);
    return STATUS_OK;
}

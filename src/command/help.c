/* SPDX-License-Identifier: Apache-2.0 */
/* The verb help: prints all verbs, or the help of one. */
#include "command/command.h"

int cmd_help(struct command *command)
{
    read_operands(command, 1);
    if (command->n_operands == 0)
        print_overview(command->verbs);
    else
        print_help(find_verb(command, command->operands[0]));
    return STATUS_OK;
}

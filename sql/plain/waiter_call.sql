-- Marks the tickets before a ticket that have no mark with the number of a roll call.
UPDATE rowlock_waiter SET roll_call = ?i WHERE name = ?t AND ticket < ?i AND {is_unmarked};

-- Marks the tickets of a name before a ticket with the number of a roll call, unless they have a
-- mark already.
UPDATE rowlock_waiter SET roll_call = ?i WHERE name = ?t AND ticket < ?i AND {is_unmarked};

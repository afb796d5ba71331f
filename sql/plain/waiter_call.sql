-- Gives the tickets of a name that are ahead of a ticket the number of a roll call, unless they
-- have one.
UPDATE rowlock_waiter SET roll_call = ?i WHERE name = ?t AND ticket < ?i AND {is_unmarked};

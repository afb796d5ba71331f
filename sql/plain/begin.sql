-- Begins a transaction of the library, where the driver of the dialect does not do it by a call.
{begin};

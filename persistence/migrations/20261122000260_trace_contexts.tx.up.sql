-- The trace of the request that caused an event, as the header traceparent of W3C Trace Context. Attempts continue it.
-- NULL: the request was not traced. It holds random numbers only, nothing about the request.
ALTER TABLE outbox ADD COLUMN trace_context text CHECK (length(trace_context) <= 128);

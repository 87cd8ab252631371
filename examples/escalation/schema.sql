-- Alerts that climb a ladder of people to wake. Safe to run again.
CREATE SCHEMA IF NOT EXISTS escalation;

-- Where a page goes out. Each channel has a time-out of its own.
CREATE TABLE IF NOT EXISTS escalation.channel (
  name text PRIMARY KEY,
  url text NOT NULL,
  timeout_ms integer NOT NULL CHECK (timeout_ms BETWEEN 1 AND 60000)
);

-- The ladder: step 0 first. After a step the next one is due wait_ms later.
CREATE TABLE IF NOT EXISTS escalation.rung (
  step integer PRIMARY KEY CHECK (step >= 0),
  person text NOT NULL,
  channel text NOT NULL REFERENCES escalation.channel,
  wait_ms integer NOT NULL CHECK (wait_ms >= 0)
);

CREATE TABLE IF NOT EXISTS escalation.alert (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  title text NOT NULL,
  firing boolean NOT NULL DEFAULT true,
  -- The step that comes next; due_at is null once the ladder has ended.
  step integer NOT NULL DEFAULT 0,
  due_at timestamptz DEFAULT clock_timestamp()
);

-- As `tenure migrate --work escalation.alert` does it.
ALTER TABLE escalation.alert
  ADD COLUMN IF NOT EXISTS leased_until timestamptz,
  ADD COLUMN IF NOT EXISTS lease_token uuid;
COMMENT ON COLUMN escalation.alert.leased_until IS 'Until when the row is leased, on this server''s clock; null when free.';
COMMENT ON COLUMN escalation.alert.lease_token IS 'Token of the claim that may write the row; null when free.';
CREATE INDEX IF NOT EXISTS alert_due ON escalation.alert (due_at, id) WHERE firing AND due_at IS NOT NULL;

-- One row for each step that was applied, written in the same transaction. What never gets past `applied`, because
-- its runner was killed, has an unknown outcome, and so has `unknown`: the channel did not answer in time.
CREATE TABLE IF NOT EXISTS escalation.delivery (
  token uuid PRIMARY KEY,
  alert_id bigint NOT NULL REFERENCES escalation.alert,
  step integer NOT NULL,
  person text NOT NULL,
  channel text NOT NULL,
  runner text NOT NULL,
  outcome text NOT NULL DEFAULT 'applied' CHECK (outcome IN ('applied', 'delivered', 'refused', 'unknown')),
  detail text,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS delivery_open ON escalation.delivery (applied_at) WHERE outcome IN ('applied', 'unknown');

-- A ladder of three, whose second channel hangs, and twelve alerts.
INSERT INTO escalation.channel (name, url, timeout_ms) VALUES
  ('push', 'http://127.0.0.1:4170/push', 1000),
  ('phone', 'http://127.0.0.1:4170/phone', 2000),
  ('siren', 'http://127.0.0.1:4170/siren', 500)
ON CONFLICT DO NOTHING;
INSERT INTO escalation.rung (step, person, channel, wait_ms) VALUES
  (0, 'Ada, on call', 'push', 2000),
  (1, 'Ada, on call', 'phone', 2000),
  (2, 'everybody in the building', 'siren', 0)
ON CONFLICT DO NOTHING;
INSERT INTO escalation.alert (title) SELECT 'pump ' || n || ' has stopped' FROM generate_series(1, 12) n;

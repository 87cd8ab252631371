# The application on PostgreSQL: asks the sidecar before it acts, and lets the strict guard judge every write.
trap 'ending=yes' TERM

sql() { psql "$DATABASE_URL" --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }

# No answer means no.
ask() { wget -q -T 1 -O - "$SIDECAR/v1/leadership" || echo '{}'; }

# Whatever the answer says is read by the database; the guard raises TN001 unless that tenure leads at this moment.
count() {
  sql --set answer="$1" <<'SQL'
SELECT a->>'election' AS election, a->>'session' AS session, a->>'generation' AS generation
FROM (SELECT :'answer'::json AS a) AS t \gset
BEGIN;
SELECT tenure.guard(:'election', :'session', :generation) \g /dev/null
INSERT INTO example_counter AS c (name, value) VALUES (:'election', 1)
ON CONFLICT (name) DO UPDATE SET value = c.value + 1
RETURNING json_build_object('generation', :generation, 'value', value);
COMMIT;
SQL
}

# Nothing is under way here, since one step follows another: so the lease may go now.
drained() {
  wget -q -T 1 -O /dev/null --header 'Tenure-Request: 1' --header 'Content-Type: application/json' \
    --post-data "{\"generation\": $1}" "$SIDECAR/v1/drained" || echo "the sidecar did not take drained for generation $1" >&2
}

# The generation that this instance holds: while leading, or while draining.
held() {
  printf '%s\n' "$1" | sed -n -e 's/.*"leading":true,"generation":\([0-9]*\),.*/\1/p' -e 's/.*"draining":{"generation":\([0-9]*\),.*/\1/p'
}

TABLE='CREATE TABLE IF NOT EXISTS example_counter (name text PRIMARY KEY, value bigint NOT NULL)'
until [ "$ending" ] || sql --command 'SET client_min_messages = warning' --command "$TABLE"; do
  sleep 1
done
until [ "$ending" ]; do
  answer=$(ask)
  case $answer in
  *'"leading":true'*) count "$answer" ;;
  *'"draining":{'*) drained "$(held "$answer")" ;;
  esac
  sleep 1 &
  wait $!
done
generation=$(held "$(ask)")
if [ "$generation" ]; then drained "$generation"; fi

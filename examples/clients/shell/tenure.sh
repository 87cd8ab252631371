#!/bin/sh
# May this instance act? For a POSIX shell on Linux, with curl. The rule is told in docs/clients.md.
#
#   . ./tenure.sh
#   if tenure_ask && [ "$(tenure_valid_for_ms)" -gt 0 ]; then
#     echo 'UPDATE job SET ..., fence = :g WHERE id = 1 AND fence <= :g' | psql -v g="$TENURE_GENERATION"
#   fi
#
# Put the generation into every write. This shell may stand still between the look at the clock and the write, and
# another instance may lead when it goes on: only what is written to can refuse the write then.

# Hundredths of a second since boot, time of suspend included. Seconds of `date` are too coarse for a promise of one.
tenure_now() {
  read -r tenure_up _ </proc/uptime && echo $((${tenure_up%.*} * 100 + 1${tenure_up#*.} - 100))
}

# The clock shows up to a hundredth less than it is: one step counts as gone.
tenure_valid_for_ms() {
  tenure_left=$(((TENURE_UNTIL - $(tenure_now) - 1) * 10))
  echo $((tenure_left > 0 ? tenure_left : 0))
}

# tenure_ask [PORT [ELECTION]]: sets TENURE_GENERATION, TENURE_SESSION and TENURE_UNTIL, or TENURE_WHY and fails. No answer
# means no. The sidecar writes the four fields side by side; anything else is taken for "not leading".
tenure_ask() {
  TENURE_GENERATION='' TENURE_SESSION='' TENURE_UNTIL=0 TENURE_WHY=''
  tenure_sent=$(tenure_now) || { TENURE_WHY='no /proc/uptime'; return 3; }
  tenure_answer=$(curl -q -sS --noproxy '*' --max-time 0.5 --max-filesize 65536 -w ' %{http_code}' -G ${2:+--data-urlencode "election=$2"} \
    "http://127.0.0.1:${1:-4040}/v1/leadership" 2>&1) || { TENURE_WHY="no answer ($tenure_answer)"; return 3; }
  tenure_fields=$(printf '%s\n' "$tenure_answer" | sed -n \
    's/.*"leading":true,"generation":\([0-9]\{1,16\}\),"session":"\([0-9a-f-]\{36\}\)","validForMs":\([0-9]\{1,9\}\),.*} 200$/\1 \2 \3/p')
  [ -n "$tenure_fields" ] || { TENURE_WHY="the sidecar says $tenure_answer"; return 3; }
  TENURE_GENERATION=${tenure_fields%% *} TENURE_SESSION=${tenure_fields#* }
  TENURE_UNTIL=$((tenure_sent + ${TENURE_SESSION#* } / 10)) TENURE_SESSION=${TENURE_SESSION% *}
  [ "$(tenure_valid_for_ms)" -gt 0 ] || { TENURE_WHY='the answer came too late'; return 3; }
}

case $0 in
tenure.sh | */tenure.sh)
  tenure_ask "$@" || { echo "not leading: $TENURE_WHY"; exit 3; }
  echo "leading generation=$TENURE_GENERATION session=$TENURE_SESSION validForMs=$(tenure_valid_for_ms)"
  ;;
esac

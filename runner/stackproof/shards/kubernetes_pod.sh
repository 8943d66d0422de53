# Runs one shard and stores its evidence. "$@" is the command; EVIDENCE is the folder of this job on the claim.
set -u
place=$EVIDENCE/$JOB_COMPLETION_INDEX
part=$EVIDENCE/.part/$POD_NAME

# The first process of a container hears no signal that it does not ask for.
trap 'kill -TERM "$run" 2>/dev/null' TERM INT
"$@" &
run=$!
wait "$run"
code=$?
# A signal ends the waiting, not the run: it still tears down.
while kill -0 "$run" 2>/dev/null; do
  wait "$run"
  code=$?
done

# What tests have to say is a result, whatever it is. Anything else is an attempt that failed: it is kept aside, to be
# read, and tried again.
case $code in
  0 | 1 | 3 | 6 | 7) stored=0 ;;
  *) stored=$code place=$EVIDENCE/.failed/$JOB_COMPLETION_INDEX ;;
esac

# Written elsewhere and renamed: no reader ever finds half of it, wherever this pod is killed.
set -- .stackproof/runs/*/
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
  echo "the run left no folder; it ended with $code" >&2
  [ "$stored" -ne 0 ] || stored=70
  exit "$stored"
fi
run_id=${1%/}
run_id=${run_id##*/}
if rm -rf "$part" && mkdir -p "$part" "$place" && cp -R "$1." "$part/" && sync -f "$part" && mv -T "$part" "$place/$run_id"; then
  echo "the run ended with $code; its evidence is in $place/$run_id"
  exit "$stored"
fi
rm -rf "$part"
echo "the run ended with $code, and its evidence could not be stored in $place" >&2
exit 74

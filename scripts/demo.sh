#!/usr/bin/env bash
# Three kernels, three verdicts. The last one is wrong on purpose: its violation is the end that the demo expects.
# KC names the command; the examples lie beside this script's folder.
set -uo pipefail
cd "$(dirname "$0")/.."
kc="${KC:-kc}"

step() { # WANTED_STATUS TITLE ARGUMENTS...
    local wanted="$1" title="$2" status=0
    shift 2
    printf '\n== %s\n$ kc %s\n\n' "$title" "$*"
    "$kc" "$@" || status=$?
    if [ "$status" -ne "$wanted" ]; then
        printf '\nThe demo expected exit status %s here and got %s.\n' "$wanted" "$status" >&2
        exit 1
    fi
}

step 0 "NumPy's matrix product against the library's contracts" \
    check numpy:matmul --as matmul --dtype fp32 --samples 12 --seed 1
step 0 "A softmax that subtracts its maximum" \
    check examples/good_softmax.py:softmax --as softmax --dtype fp32 --samples 12 --seed 1
step 1 "A softmax that does not" \
    check examples/bad_softmax.py:softmax --as softmax --class C-PRC-02 --dtype fp32 --samples 12 --seed 1

printf '\nThe last verdict is the expected end: exit status 1 of `kc check` says that a contract is violated.\n'
printf 'See the failure again: %s replay .kc/witness/softmax-stable-fp32-1.json\n' "$kc"
printf 'What a defect means:   %s explain overflowed\n' "$kc"

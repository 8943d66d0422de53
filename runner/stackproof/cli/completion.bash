# Completion of stackproof for bash, 4.2 and later.
_stackproof_completion() {
    local reply type value
    COMPREPLY=()
    reply=$(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
        _STACKPROOF_COMPLETE=bash_complete "$1" 2>/dev/null)
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done <<<"$reply"
}
complete -o nosort -F _stackproof_completion stackproof 2>/dev/null || complete -F _stackproof_completion stackproof

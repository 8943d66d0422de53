#compdef stackproof
# Completion of stackproof for zsh, 5.1 and later.
_stackproof_completion() {
    local -a reply values described
    local type value text
    reply=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" _STACKPROOF_COMPLETE=zsh_complete \
        ${~words[1]} 2>/dev/null)}")
    for type value text in "${reply[@]}"; do
        case $type in
            dir) _path_files -/ ;;
            file) _path_files ;;
            plain) if [[ $text == _ ]]; then values+=("$value"); else described+=("$value:$text"); fi ;;
        esac
    done
    if (( $#described )); then _describe -V unsorted described -U; fi
    if (( $#values )); then compadd -U -V unsorted -a values; fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _stackproof_completion "$@"
else
    compdef _stackproof_completion stackproof
fi

# Completion of stackproof for fish, 3.1 and later.
function _stackproof_completion
    set -l tokens (commandline -opc)
    set -l reply (COMP_LINE=(commandline -cp | string collect) _STACKPROOF_COMPLETE=fish_complete $tokens[1] 2>/dev/null)
    for line in $reply
        set -l parts (string split -m 1 "," -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
            case plain
                echo -- $parts[2]
        end
    end
end

complete --command stackproof --no-files --arguments "(_stackproof_completion)"

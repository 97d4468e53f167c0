#compdef train
# SPDX-License-Identifier: Apache-2.0
# Completion of `train` for zsh: as _train in a folder of $fpath, or, after compinit, by
#     source <(train completion zsh)
_train() {
    local -a answer whole open
    local line entry
    answer=("${(@f)$(command ${~words[1]} complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case $answer[1] in
        command)
            local -i at=${words[(i)--]}
            shift $at words
            (( CURRENT -= at ))
            _normal
            return
            ;;
        files | directories)
            [[ $PREFIX == --*=* ]] && compset -P '*='
            if [[ $answer[1] == files ]]; then _files; else _files -/; fi
            return
            ;;
    esac
    for line in "${(@)answer[2,-1]}"; do
        entry=${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}
        # What ends with "=" goes on with a value.
        if [[ $line == *=$'\t'* ]]; then open+=("$entry"); else whole+=("$entry"); fi
    done
    local -i status_of_all=1
    (( $#whole )) && _describe -V -t values value whole && status_of_all=0
    (( $#open )) && _describe -V -t values value open -S '' && status_of_all=0
    return status_of_all
}

if [[ $funcstack[1] == _train ]]; then _train "$@"; else compdef _train train; fi

# SPDX-License-Identifier: Apache-2.0
# Completion of `train` for bash 4.4 or later, in share/bash-completion/completions, or by
#     source <(train completion bash)
_train() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word i answer

    # Bash also splits words at "=" and ":". What no blank separates is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [[ $i = 0 || $rest == [[:space:]]* ]]; then
            words+=('')
            rest=${rest#"${rest%%[![:space:]]*}"}
        fi
        word=${COMP_WORDS[i]}
        [[ $i != "$COMP_CWORD" ]] || word=$rest
        words[-1]+=$word
        rest=${rest#"$word"}
    done
    word=${words[-1]}

    COMPREPLY=()
    mapfile -t answer < <(command "${1/#\~\//"$HOME/"}" complete -- "${words[@]:1}" 2>/dev/null)
    case ${answer[0]} in
    files) compopt -o default ;;
    directories) compopt -o dirnames ;;
    command)
        for ((i = 1; i < COMP_CWORD - 1; i++)); do [[ ${COMP_WORDS[i]} != -- ]] || break; done
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif [[ ${COMP_WORDS[COMP_CWORD - 1]} = -- ]]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$word")
        else
            compopt -o default
        fi
        return
        ;;
    esac

    # Readline replaces only what follows the last of its separators; "@" is replaced as well.
    for ((i = ${#word}; i > 0; i--)); do [[ $COMP_WORDBREAKS != *"${word:i-1:1}"* ]] || break; done
    [[ $i = 0 || ${word:i-1:1} != @ ]] || ((i--))
    local front=${word:0:i}
    for word in "${answer[@]:1}"; do
        word=${word%%$'\t'*}
        COMPREPLY+=("${word#"$front"}")
    done
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace
}
complete -o nosort -F _train train

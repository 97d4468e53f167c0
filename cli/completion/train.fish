# SPDX-License-Identifier: Apache-2.0
# Completion of `train` for fish: in share/fish/vendor_completions.d, or by
#     source (train completion fish | psub)
function __train_complete
    set -l words (commandline -opc) (commandline -ct)
    # Variables may stand before the command.
    while string match -qr '^\w+=' -- $words[1]
        set -e words[1]
    end
    set -l program (string replace -r '^~/' $HOME/ -- $words[1])
    set -e words[1]
    set -l answer (command $program complete -- $words 2>/dev/null)
    set -l shell_adds $answer[1]
    set -e answer[1]
    switch $shell_adds
        case files directories
            # "--hostfile=" stays in front of each file.
            set -l front (string match -r '^--[^=]*=' -- $words[-1])
            set -l typed (string replace -r '^--[^=]*=' '' -- $words[-1])
            for path in (complete -C "'' $typed")
                if test $shell_adds = files; or string match -qr '/(\t|$)' -- $path
                    printf '%s\n' "$front$path"
                end
            end
        case command
            set -l at (contains -i -- -- $words)
            set -l rest (string escape -- $words[(math $at + 1)..-1])
            complete -C "$rest"
    end
    for line in $answer
        printf '%s\n' $line
    end
end
complete -c train -f -a '(__train_complete)'

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config_schema/text/place.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

/// The class of an error. Each class has one documented exit code
/// (`cli/surroundings/exit_code.hpp`) and one name, which the last line on stderr and `--json`
/// contain.
enum class ErrorClass {
  usage,        ///< wrong flags (64)
  no_input,     ///< no such config, hosts file or task (66)
  never,        ///< can never be placed on these hosts (69)
  bug,          ///< a bug in train (70)
  missing,      ///< program, interpreter or working directory missing on a host (72)
  busy,         ///< fits, but not now (75)
  host,         ///< a host could not be reached or was lost (76)
  config,       ///< invalid experiment (78)
  hosts,        ///< invalid hosts file or host list (78)
  worker,       ///< a rank failed (its own code, or 128 + signal)
  interrupted,  ///< stopped by the user (130)
  timeout,      ///< stopped since its max_runtime was over (124)
  hang,         ///< nothing came from any rank for the hang_timeout (124)
  no_progress,  ///< attempts in a row came to nothing: restarting does not help (79)
};

/// The name of a class as users see it: "config", "hosts", "worker", ...
std::string_view to_string(ErrorClass error_class);

/// One fault or warning: where, what, and what to do next.
struct Diagnostic {
  Place place;                               ///< empty `source` if the fault is not in a text
  std::string key;                           ///< dotted path of the configuration key, or empty
  std::string message;                       ///< says what is wrong; quotes the user's values
  std::string hint;                          ///< the next step; may be empty
  std::vector<std::string> more_hints = {};  ///< separate lines below the hint

  bool operator==(const Diagnostic&) const = default;
};

/// An error as a value: all the diagnostics of one input, in order, never empty.
struct Error {
  ErrorClass error_class = ErrorClass::bug;
  std::vector<Diagnostic> diagnostics;

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

/// An error without a place in a text.
Error make_error(ErrorClass error_class, std::string message, std::string hint = {});

/// `make_error` as a value that converts to any failed `Result<T>`.
tl::unexpected<Error> fail(ErrorClass error_class, std::string message, std::string hint = {});

/// The error with these lines as hints of its first diagnostic, in place of its hint.
Error with_hints(Error error, std::vector<std::string> hints);

/// Adds the operation in progress to every message: "while reading 'x': <message>".
Error with_context(Error error, std::string_view context);

/// How a diagnostic is shown, without a final newline:
///
///     hosts:3:9: unknown key 'slot'
///       3 | - slot: 4
///         |   ^
///       did you mean 'slots'?
///
/// Messages, hints and sources are escaped like all text from outside (`TerminalText`): each is one
/// line, whatever it quotes.
TerminalText terminal_text(const Diagnostic& diagnostic);

/// All diagnostics of an error, one after the other, at most `limit` of them; the number of omitted
/// ones is added. Ends without a newline.
TerminalText terminal_text(const Error& error, std::size_t limit = 20);

/// The same as plain strings, for files and tests.
std::string render(const Diagnostic& diagnostic);
std::string render(const Error& error, std::size_t limit = 20);

/// An error as one line of plain text, to be quoted in a sentence: "message; hint".
std::string in_one_line(const Error& error);

}  // namespace train

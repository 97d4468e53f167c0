// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config_schema/text/error.hpp"

namespace train {

/// The result of a command; only `main` converts it to a number. Values are those of sysexits.h
/// where one fits, as documented in train-exit-codes(7).
class ExitCode {
 public:
  constexpr ExitCode() = default;  ///< success
  constexpr explicit ExitCode(int value) : value_(value) {}
  constexpr int value() const { return value_; }

 private:
  int value_ = 0;
};

/// The documented code of an error class. A worker's own exit code is not covered here.
constexpr ExitCode exit_code_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::usage:
      return ExitCode(64);
    case ErrorClass::no_input:
      return ExitCode(66);
    case ErrorClass::never:
      return ExitCode(69);
    case ErrorClass::bug:
      return ExitCode(70);
    case ErrorClass::missing:
      return ExitCode(72);
    case ErrorClass::busy:
      return ExitCode(75);
    case ErrorClass::host:
      return ExitCode(76);
    case ErrorClass::config:
    case ErrorClass::hosts:
      return ExitCode(78);
    case ErrorClass::worker:
      return ExitCode(1);
    case ErrorClass::interrupted:
      return ExitCode(130);
    case ErrorClass::timeout:
    case ErrorClass::hang:
      return ExitCode(124);
    case ErrorClass::no_progress:
      return ExitCode(79);
  }
  return ExitCode(70);
}

/// The last line of a failure: "failed: config (exit 78)".
TerminalText verdict(ErrorClass error_class, ExitCode code);

/// Prints the error on stderr, the verdict last, and returns the code of the error's class.
ExitCode report(const Error& error);

}  // namespace train

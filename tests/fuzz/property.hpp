// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

/// One input of a fuzz target, as libFuzzer calls it. Returns 0; an input that shows a fault never
/// comes back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace train::fuzz {

/// Ends the program with a message when a property does not hold; `about` is what was found.
void require(bool holds, std::string_view property, std::string_view about = {});

/// A text that was read, under the name by which errors speak of it.
struct NamedText {
  std::string name;
  std::string text;
};

/// Every error of an input has the class `expected` (or is one of wrong flags, where there are
/// some) and is a bounded list of faults, each of which says something and points into one of the
/// texts.
void check_error(const Error& error, ErrorClass expected, const std::vector<NamedText>& texts);

/// The same for a list of warnings.
void check_diagnostics(const std::vector<Diagnostic>& diagnostics,
                       const std::vector<NamedText>& texts);

/// Requires at its end that a scope took less than a second (five under sanitizers) of this
/// process's CPU time, which other load on the machine does not lengthen.
class CpuLimit {
 public:
  CpuLimit() : begin_(std::clock()) {}
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

 private:
  std::clock_t begin_;
};

}  // namespace train::fuzz

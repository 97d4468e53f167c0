// SPDX-License-Identifier: Apache-2.0
// Names each case that failed in a line that tests/run.sh reads, which tries it again alone.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <iostream>

#include "tests/catch.hpp"

namespace {

#if CATCH_VERSION_MAJOR >= 3
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

class FailedCases : public Listener {
 public:
  using Listener::Listener;

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (!stats.totals.assertions.allOk())
      std::cout << "FAILED CASE: " << stats.testInfo.name << std::endl;
  }
};
CATCH_REGISTER_LISTENER(FailedCases)

}  // namespace

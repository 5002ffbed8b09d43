// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rota::core {
namespace {

using ::testing::HasSubstr;

const TemplateValues kValues{"2026-11-29T22:00:00Z", "2026-11-30"};

TEST(Template, ReplacesTheTwoValuesAndNothingElse) {
  EXPECT_EQ(render_template("run/{{business_date}}", kValues), "run/2026-11-30");
  EXPECT_EQ(render_template("{{nominal_time}}{{nominal_time}}", kValues),
            "2026-11-29T22:00:00Z2026-11-29T22:00:00Z");
  EXPECT_EQ(render_template("{{{nominal_time}}}", kValues), "{2026-11-29T22:00:00Z}");
  EXPECT_EQ(render_template("{\"a\":{\"b\":{}}} {{ business_date }} {{name}} {{", kValues),
            "{\"a\":{\"b\":{}}} {{ business_date }} {{name}} {{");
  EXPECT_EQ(render_template("", kValues), "");
  const std::string binary("\0{{business_date}}\xff", 19);
  EXPECT_EQ(render_template(binary, kValues), std::string("\0002026-11-30\xff", 12));
}

TEST(Template, WhatIsFilledInIsNotReadAgain) {
  const TemplateValues nested{"{{business_date}}", "{{nominal_time}}"};
  EXPECT_EQ(render_template("{{nominal_time}}", nested), "{{business_date}}");
}

TEST(Template, LongestRendering) {
  EXPECT_EQ(longest_rendering("plain"), 5u);
  EXPECT_EQ(longest_rendering("{{business_date}}"), 10u);
  EXPECT_EQ(longest_rendering("{{nominal_time}}"), 24u);
}

TEST(Template, BusinessKeysNeedATime) {
  EXPECT_TRUE(check_key_template("", "job.business_key").has_value());
  EXPECT_TRUE(check_key_template("invoice/{{business_date}}", "job.business_key").has_value());
  const auto constant = check_key_template("invoice", "job.business_key");
  ASSERT_FALSE(constant.has_value());
  EXPECT_EQ(constant.error().reason, base::Reason::kBusinessKeyNeedsTime);
  EXPECT_EQ(constant.error().field, "job.business_key");
  const auto misspelt = check_key_template("{{business_date}}/{{tenant}}", "job.business_key");
  ASSERT_FALSE(misspelt.has_value());
  EXPECT_EQ(misspelt.error().reason, base::Reason::kInvalidField);
  EXPECT_THAT(misspelt.error().message, HasSubstr("\"{{tenant}}\" is not a value"));
  const auto spaced = check_key_template("{{ business_date }}", "job.business_key");
  ASSERT_FALSE(spaced.has_value());
  EXPECT_EQ(spaced.error().reason, base::Reason::kInvalidField);
  EXPECT_FALSE(check_key_template("{{business_date}}{{", "job.business_key").has_value());
  EXPECT_TRUE(check_key_template(std::string(232, 'k') + "{{nominal_time}}", "k").has_value());
  EXPECT_FALSE(check_key_template(std::string(233, 'k') + "{{nominal_time}}", "k").has_value());
}

}  // namespace
}  // namespace rota::core

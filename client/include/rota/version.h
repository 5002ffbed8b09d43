// SPDX-License-Identifier: Apache-2.0
#pragma once

#define ROTA_VERSION_MAJOR 0
#define ROTA_VERSION_MINOR 1
#define ROTA_VERSION_PATCH 0
#define ROTA_VERSION "0.1.0"

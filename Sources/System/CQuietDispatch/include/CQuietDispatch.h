#pragma once
// Nothing to call: linking this target is enough (docs/decisions/0080-idle-agent.md).

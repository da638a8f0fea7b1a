#pragma once
// Nothing to call: linking this target is enough (docs/decisions/0081-idle-agent.md).

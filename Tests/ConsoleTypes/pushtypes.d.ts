// The module that Sources/Shared/Console/ConsoleFile+PushTypes.swift writes.

export const pushTypes: string[];
export const suffixes: Record<string, string>;
export const services: Record<string, string>;

package import ArgumentParser

/// Reports an unknown subcommand by its name. The parser would only say that an argument is unexpected.
package enum UnknownCommand {
    /// Checks the names before the first option.
    package static func check(_ arguments: some Sequence<String>, under root: any ParsableCommand.Type) throws {
        var (command, path) = (root, [root._commandName])
        for name in arguments {
            let below = command.configuration.subcommands
            guard !below.isEmpty, !name.hasPrefix("-"), name != "help" else { return }
            guard let next = below.first(where: { $0._commandName == name }) else {
                // The name may be an argument of the default subcommand.
                if command.configuration.defaultSubcommand != nil { return }
                throw CommandError(
                    "There is no command \((path + [name]).joined(separator: " ")); there are "
                        + "\(below.map { $0._commandName }.joined(separator: ", ")).")
            }
            (command, path) = (next, path + [name])
        }
    }
}

package import ArgumentParser

extension AsyncParsableCommand {
    /// Runs the command that the process's arguments name, and ends the process. A wrong option prints one line. The
    /// parser would add the whole usage, which pushes the line off the screen.
    /// - Parameter advice: the cause of an error and what to try next; nil if there is nothing to say beside the error's
    ///   own text.
    package static func runAsMain(advice: (any Error) -> String? = { _ in nil }) async {
        do {
            let arguments = ProcessArguments.all
            // Without this check, the command would print its help and end as if it had done what it was asked for.
            guard !arguments.isEmpty else {
                throw CommandError("The arguments of this program cannot be found: is /proc mounted?")
            }
            try UnknownCommand.check(arguments.dropFirst(), under: Self.self)
            let command = try parseAsRoot(Array(arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch {
            if let advice = advice(error) {
                Output.printDiagnostic("Error: \(advice)")
                exit(withError: ExitCode.failure)
            }
            if exitCode(for: error) == .success {
                let message = fullMessage(for: error)
                if !message.isEmpty { print(HelpText.wrapped(message)) }
                exit()
            }
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let message = message(for: error).split(separator: "\n").joined(separator: " ")
            Output.printDiagnostic("Error: \(message.asSentence) See the command's --help.")
            exit(withError: ExitCode.validationFailure)
        }
    }
}

extension String {
    /// The text with a full stop, if it has none, so that another sentence can follow.
    package var asSentence: String { last.map { ".?!".contains($0) } == true ? self : self + "." }
}

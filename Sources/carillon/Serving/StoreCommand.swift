import ArgumentParser
import CommandSupport
import Foundation
import Service

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Move a service's data to another kind of store.",
        subcommands: [Copy.self],
    )

    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy a store into an empty one. Device tokens, certificates and mailboxes stay valid.",
            discussion: """
                A store is sqlite: and a data folder, or the URL of a PostgreSQL database. No service may use either store. \
                If the copy is interrupted, run the same command again. The delivery log stays where it is.
                """,
        )

        @OptionGroup var common: CommonOptions

        @Option(help: ArgumentHelp("The store to copy.", valueName: "store"))
        var from: String

        @Option(help: ArgumentHelp("The store to fill: an empty one, or an unfinished copy.", valueName: "store"))
        var to: String

        @Option(
            name: .customLong("store-key-file"),
            help: ArgumentHelp(
                "The file with the key of a PostgreSQL store (or CARILLON_STORE_KEY_FILE).", valueName: "file"))
        var storeKeyFile: String?

        func run() async throws {
            let keyFile = storeKeyFile ?? ProcessInfo.processInfo.environment["CARILLON_STORE_KEY_FILE"]
            let bar = ProgressBar(isQuiet: common.json)
            let result: Result<StoreCopy.Counts, any Error>
            do {
                result = .success(
                    try await StoreCopy.run(
                        from: try CopyPlace(from), to: try CopyPlace(to), storeKeyFile: keyFile
                    ) { title, done, count in bar.show(title, done, of: count) })
            } catch {
                result = .failure(error)
            }
            bar.end()
            let counts = try result.get()
            common.output.print(
                counts,
                "Copied \(counts.registrations) registrations, \(counts.notifications) notifications, \(counts.apps) apps, "
                    + "\(counts.keys) keys and \(counts.secrets) secrets.")
        }
    }
}

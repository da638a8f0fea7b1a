import ArgumentParser
import CommandSupport
import Delivery
import HTTPAPIClient
import Management
import Service

extension GrantRegistration: ExpressibleByArgument {}

extension GrantCommand {
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a grant: what is given, at once, on open connections too.",
            discussion: """
                What is not given stays. 0 removes a limit that is a number or a date, an empty text the date, the topics or \
                the push types, and --priority 0 the priorities: --rate 0 --expires '' --topic ''.
                """)

        @OptionGroup var common: CommonOptions

        @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
        var grant: String

        @Option(help: "The instance's name, for people.")
        var name: String?

        @OptionGroup var limits: Limits

        func validate() throws { try limits.check(from: 0) }

        func run() async throws {
            // A new grant's limits name nothing.
            var bounds = ManagementMessages.NewGrant(bundleID: "", name: "").limits
            try limits.set(&bounds)
            let changed: ManagementMessages.Grant = try await common.management().ask(
                .PATCH, ManagementMessages.Grant.path(of: grant),
                ManagementMessages.GrantChange(name: name, limits: bounds))
            common.output.print(changed, changed.line)
        }
    }
}

import ArgumentParser
import HTTPAPIClient
import Management

struct InvitationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invitation",
        abstract: "The activation codes that no device has used yet.",
        subcommands: [
            ListCommand<ManagementMessages.Invitation>.self, ShowCommand<ManagementMessages.Invitation>.self,
            Withdraw.self,
        ],
    )

    struct Withdraw: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Withdraw an activation code at once, so that no device can use it. This cannot be undone.",
            discussion: "The ID is not the code: invitation list shows it, and device invite --json prints both.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The invitation's ID, 64 hexadecimal digits.")
        var id: String

        func run() async throws {
            let withdrawn: ManagementMessages.Invitation = try await common.management().ask(
                .DELETE, ManagementMessages.Invitation.path(of: id))
            common.output.print(withdrawn, "Withdrew the invitation \(withdrawn.id).")
        }
    }
}

extension ManagementMessages.Invitation: AccountItem {
    static let path = "/v1/invitations"
    static let plural = "unused activation codes by their IDs"
    static let singular = "an unused activation code"
    static let argument = (help: "The invitation's ID", value: "id")

    var itemName: String { id }

    var line: String { "\(id)  \(environment)  until \(shown(expires))" }
}

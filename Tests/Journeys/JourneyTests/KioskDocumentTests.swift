import CommonTesting
import Foundation
import Testing

@testable import ServiceTesting

/// "A kiosk in ten minutes" in docs/device-agent.md works if each line is pasted, from two packages to the first alert: in a network
/// namespace, with the paths, the ports, the name and the users that the page has. What stands for `systemctl` reads the packages'
/// units. The machine of the service and the kiosk are one.
@Suite(.startsPrograms, .timeLimit(.minutes(3))) struct KioskDocumentTests {
    private static func blocks() throws -> [String] {
        try Repository.text("docs/device-agent.md").components(separatedBy: "```sh\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
    }

    private static let unshare = ["--net", "--pid", "--fork", "--mount-proc", "bash", "-e", "-c"]

    /// Makes folders of the machine's own, and puts the two programs in one that every user can reach.
    private static let preparation = #"""
        ip link set lo up
        mount -t tmpfs -o mode=755 none /mnt
        mkdir -m 755 /mnt/programs
        for name in carillon carillon-agent; do
            touch "/mnt/programs/$name"
            mount --bind "$PROGRAMS/$name" "/mnt/programs/$name"
        done
        cp -a /etc /mnt/etc && mount --bind /mnt/etc /etc
        mount -t tmpfs -o mode=755 none /run
        mount -t tmpfs -o mode=755 none /var/lib
        echo '127.0.0.1 localhost push.example.com' >/etc/hosts
        mkdir -p /etc/carillon /etc/carillon-device/apps.d
        rm -rf /etc/carillon/* /etc/carillon-device/apps.d/*
        PATH=/mnt/programs:$PATH
        add() { echo "$1:x:$2:$2::/:/bin/sh" >>/etc/passwd; echo "$1:x:$2:" >>/etc/group; }
        as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

        """#

    private static let packages = #"""
        apt() { :; }
        useradd() { add "${!#}" 61003; }
        add carillon 61001
        add carillon-device 61002
        # Starts a unit as systemd does, with its user, its folders and its credential, and waits until it is ready.
        systemctl() {
            local unit=$2 user=$2 file=$PACKAGING/debian/$2.service
            [[ $unit == carillon ]] || file=$PACKAGING/device/$2.service
            install -d -o "$user" -g "$user" -m 700 "/var/lib/$unit"
            install -d -o "$user" -g "$user" -m 755 "/run/$unit"
            install -d -o "$user" -g "$user" -m 700 "/run/credentials-$unit"
            [[ ! -e /etc/$unit/code ]] || install -o "$user" -g "$user" -m 400 "/etc/$unit/code" "/run/credentials-$unit/code"
            [[ ! -e /etc/$unit/agent.env ]] || . "/etc/$unit/agent.env"
            local start
            start=$(awk '/^ExecStart=/ { on = 1 } on { print } on && !/\\$/ { exit }' "$file" | sed 's/^ExecStart=//; s/\\$//' | tr -d '\n')
            eval "set -- ${start//%d/\/run\/credentials-$unit}"
            as "$user" "/mnt/programs/${1##*/}" "${@:2}" >"$unit.log" 2>&1 &
            local tries=0
            case $unit in
            carillon) until carillon health >/dev/null 2>&1; do sleep 0.1; (( ++tries < 600 )); done ;;
            *) until [[ -S /run/carillon-device/agent.sock ]]; do sleep 0.1; (( ++tries < 600 )); done ;;
            esac
        }

        """#

    /// Only root can become other users.
    private static var isPossible: Bool {
        get async {
            let programs = ["unshare", "setpriv", "ip", "mount", "jq", "curl", "awk"]
            guard geteuid() == 0, programs.allSatisfy({ ChildProcess.isInstalled($0) }) else { return false }
            return (try? await ChildProcess.run("unshare", unshare + ["ip link set lo up && setpriv --version"]))?
                .status
                == 0
        }
    }

    /// A block that the page has the app's user run.
    private static func asUser(_ block: String) -> String {
        "as kiosk bash -ec '" + block.trimmingCharacters(in: .newlines).replacing("'", with: #"'\''"#) + "'"
    }

    @Test(.enabled("it needs root, namespaces, setpriv, jq and curl") { await isPossible })
    func `A kiosk shows its first alert if each line is pasted, and another user is not its app`() async throws {
        let blocks = try Self.blocks()
        try #require(blocks.count > 7 && blocks[7].contains("/handled"), "the page has other blocks than this test")
        let script =
            Self.preparation + Self.packages + "trap 'kill $(jobs -p)' EXIT\n" + blocks[..<4].joined()
            + "TOKEN=$(\(Self.asUser(blocks[4])) | jq -r .token)\n"
            + "\(Self.asUser(blocks[5])) >/mnt/events &\n" + blocks[6]
            + "until grep -q 'Order 7' /mnt/events; do sleep 0.1; done\n" + Self.asUser(blocks[7]) + "\n"
            + "if as carillon curl --fail --unix-socket /run/carillon-device/agent.sock -X PUT "
            + "http://agent/v1/apps/com.example.kiosk; then exit 1; fi\n"
            + "cat /mnt/events"
        try await withTemporaryFolder { folder in
            for (name, path) in [("carillon", BuiltCommand.path), ("carillon-agent", BuiltCommand.agentPath)] {
                try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: path)
            }
            let environment = ["PROGRAMS": folder, "PACKAGING": Repository.file("Packaging").path]
            let finished = try await ChildProcess.run(
                "unshare", Self.unshare + [script], environment: environment, folder: folder)
            #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
            let last = try required(finished.output.split(separator: "\n").last)
            for part in [#"{"handled":1}"#, #""event":"shown""#, #""body":"Order 7""#] {
                #expect(last.contains(part), "\(finished.output) \(finished.errors)")
            }
        }
    }
}

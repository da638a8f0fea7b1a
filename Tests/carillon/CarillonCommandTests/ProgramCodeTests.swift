#if canImport(Glibc)
    import Foundation
    import Testing

    @testable import Supervision

    /// Which pages are unmapped after a start.
    struct ProgramCodeTests {
        private static let maps = """
            5600a000-5600f000 r--p 00000000 fe:00 1201                               /usr/bin/carillon
            5600f000-56017000 r-xp 00005000 fe:00 1201                               /usr/bin/carillon
            56017000-56019000 r--p 0000d000 fe:00 1201                               /usr/bin/carillon
            56019000-5601a000 rw-p 0000f000 fe:00 1201                               /usr/bin/carillon
            56020000-56021000 rwxp 00000000 00:00 0
            7f10a000-7f10f000 r-xp 00002000 fe:00 77                                 /usr/lib/libpq.so.5
            7f20a000-7f20f000 r-xp 00005000 fe:00 78                                 /opt/a program/bin/carillon
            7fff1000-7fff3000 r-xp 00000000 00:00 0                                  [vdso]

            """

        @Test func `Only the program's code is given back, and nothing that was or can be written`() {
            #expect(ProgramCode.ranges(of: "/usr/bin/carillon", Self.maps) == [0x5600_f000..<0x5601_7000])
        }

        @Test func `The program's path may have spaces`() {
            #expect(ProgramCode.ranges(of: "/opt/a program/bin/carillon", Self.maps) == [0x7f20_a000..<0x7f20_f000])
        }

        @Test(arguments: [
            "", "5600f000", "5600f000-5600f000 r-xp 0 fe:00 1 /p", "2-1 r-xp 0 fe:00 1 /p",
            "-1-2 r-xp 0 fe:00 1 /p", "1-10000000000000000 r-xp 0 fe:00 1 /p", "1-2-3 r-xp 0 fe:00 1 /p",
        ]) func `A line of another form is left out`(_ line: String) {
            #expect(ProgramCode.ranges(of: "/p", line) == [])
        }

        @Test func `The program goes on after its code was given back`() {
            for _ in 0..<10 { ProgramCode.giveBack() }
            #expect("\(Self.maps.split(separator: "\n").count)" == "8")
        }
    }
#endif

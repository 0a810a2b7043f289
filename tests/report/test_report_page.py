from analysis.report import write_report


def test_x(make_run):
    import shutil

    r = make_run(invalid=False)
    print(write_report(r))
    shutil.copy(r.report, "/tmp/report.html")
    r = make_run("inv", invalid=True)
    write_report(r)
    shutil.copy(r.report, "/tmp/report-inv.html")

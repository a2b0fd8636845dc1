//go:build !operator

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sotto/cmd/sotto/cli"
	"sotto/experiment/sweep"
	"sotto/reproduce"
	"sotto/reproduce/campaign"
	"sotto/reproduce/papers"
)

// campaignFlags are those of all commands of a campaign.
type campaignFlags struct {
	sweep sweepFlags
	opt   campaign.Options
	job   campaign.Job
	scale string
}

func (f *campaignFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.scale, "scale", "short",
		"smoke, full, or short: a stated part of studies whose full size takes weeks, and the full size of "+
			"the others")
	fl.StringSliceVar(&f.opt.Studies, "studies", nil, "only these studies, a,b,c")
}

func (f *campaignFlags) dir(c *cobra.Command) {
	c.Flags().StringVar(&f.opt.Dir, "dir", "campaign", "folder that holds the studies' folders")
}

func newCampaign() *cobra.Command {
	c := &cobra.Command{
		Use:   "campaign",
		Short: "Run all studies, on one machine or as an array of processes on a cluster",
		Long: `Run all studies, on one machine or as an array of processes on a cluster.

"slurm" and "kubernetes" write the job, "run" is what each of its processes does, and "merge" joins
their rows and writes all tables and plots. A process that was stopped resumes with the same
command: finished runs are rows, and other runs have a checkpoint.`,
		Example: `  sotto reproduce campaign list
  sotto reproduce campaign run --dir results
  sotto reproduce campaign slurm --shards 100 --dir /shared/results --data-dir /shared/data | sbatch
  sotto reproduce campaign merge --shards 100 --dir /shared/results`,
		Args: cli.NoArgs,
	}
	c.AddCommand(newCampaignList(), newCampaignRun(), newCampaignMerge(), newCampaignSlurm(),
		newCampaignKubernetes())
	return c
}

// campaignFolder is what "campaign list" prints of a folder.
type campaignFolder struct {
	Folder  string   `json:"folder"`
	Scale   string   `json:"scale"`
	Runs    int      `json:"runs,omitempty"` // absent where a study is made whole
	Studies []string `json:"studies"`
}

func newCampaignList() *cobra.Command {
	var f campaignFlags
	var output cli.Output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the folders of a campaign and how many runs each has",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parts, err := campaign.Parts(papers.All, f.opt.Studies, reproduce.Scale(f.scale))
			if err != nil {
				return err
			}
			if output.JSON() {
				folders := make([]campaignFolder, len(parts))
				for i, p := range parts {
					folders[i] = campaignFolder{p.Folder, string(p.Scale), p.Runs, p.Studies}
					if !p.Sweep {
						folders[i].Runs = 0
					}
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(folders)
			}
			t, runs := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0), 0
			fmt.Fprintln(t, "folder\tscale\truns\tstudies")
			for _, p := range parts {
				kind := fmt.Sprint(p.Runs)
				if !p.Sweep {
					kind = "whole"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", p.Folder, p.Scale, kind, len(p.Studies))
				runs += p.Runs
			}
			fmt.Fprintf(t, "all\t\t%d\t\n", runs)
			return t.Flush()
		},
	}
	f.add(c)
	output.Register(c)
	return c
}

func newCampaignRun() *cobra.Command {
	var f campaignFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run what is missing of a campaign, or of one of its shards",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			o := &f.opt
			o.Scale = reproduce.Scale(f.scale)
			if o.Sweep.Shard, o.Sweep.Shards, err = f.sweep.part.division(os.Getenv); err != nil {
				return err
			}
			o.Sweep.DataDir, o.Sweep.Workers = f.sweep.dataDir, f.sweep.workers
			o.Progress = func(folder string, p sweep.Progress) {
				fmt.Fprintf(cli.Notes(cmd), "%s  run %d of %d  %s  %s  epsilon %s  %.1f s  left %s\n",
					folder, p.Done, p.Of, p.Cell, quality(p.Row), atMost(p.Row.EpsilonUpper), p.Seconds,
					p.Left.Round(time.Second))
			}
			return rememberFigures(func() error { return campaign.Run(cmd.Context(), papers.All, *o) })
		},
	}
	f.add(c)
	f.dir(c)
	fl := c.Flags()
	fl.StringVar(&f.sweep.part.shard, "shard", "",
		"i/n: run every n-th run of the campaign, starting with run i, counted from 0")
	fl.IntVar(&f.sweep.part.shards, "shards", 0,
		"n: like --shard i/n, with i from the environment of an array job")
	cli.WorkersFlag(c, &f.sweep.workers,
		"runs at the same time; 0: one for each processor; changes no result")
	cli.DataDirFlag(c, &f.sweep.dataDir)
	return c
}

func newCampaignMerge() *cobra.Command {
	var f campaignFlags
	c := &cobra.Command{
		Use:   "merge",
		Short: "Join the rows of all shards and write all tables and plots",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n := f.sweep.part.shards; n < 1 {
				return cli.Usagef("--shards: found %d, allowed: at least 1", n)
			}
			f.opt.Scale, f.opt.Sweep.Shards = reproduce.Scale(f.scale), f.sweep.part.shards
			f.opt.Sweep.DataDir = f.sweep.dataDir
			return rememberFigures(func() error { return campaign.Merge(cmd.Context(), papers.All, f.opt) })
		},
	}
	f.add(c)
	f.dir(c)
	c.Flags().IntVar(&f.sweep.part.shards, "shards", 1, "number of shards")
	cli.DataDirFlag(c, &f.sweep.dataDir)
	return c
}

// addJob adds the flags of a job of a cluster.
func (f *campaignFlags) addJob(c *cobra.Command) {
	f.add(c)
	fl := c.Flags()
	fl.IntVar(&f.job.Shards, "shards", 100, "number of processes")
	fl.IntVar(&f.job.Parallel, "parallel", 0, "how many processes run at the same time; 0: all")
	fl.IntVar(&f.job.Cores, "cores", 2, "processor cores of each process")
	fl.IntVar(&f.job.MemoryGB, "memory", 8, "memory of each process, in GB")
	fl.StringVar(&f.job.Dir, "dir", "/campaign", "folder of the campaign, which all processes see")
	fl.StringVar(&f.job.DataDir, "data-dir", "/data",
		"folder of data sets, which all processes see; SOTTO_DATA of this machine does not count")
}

// write writes the job to standard output.
func (f *campaignFlags) write(cmd *cobra.Command, kind func(campaign.Job) ([]byte, error)) error {
	f.job.Scale, f.job.Studies = reproduce.Scale(f.scale), f.opt.Studies
	if _, err := campaign.Parts(papers.All, f.job.Studies, f.job.Scale); err != nil {
		return err
	}
	b, err := kind(f.job)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(b)
	}
	return err
}

func newCampaignSlurm() *cobra.Command {
	var f campaignFlags
	var s campaign.Slurm
	c := &cobra.Command{
		Use:   "slurm",
		Short: "Write a script for sbatch: the campaign as a job array",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.write(cmd, func(j campaign.Job) ([]byte, error) { return j.Slurm(s) })
		},
	}
	f.addJob(c)
	c.Flags().IntVar(&s.Hours, "hours", 24, "hours after which a process is stopped")
	c.Flags().StringVar(&s.Partition, "partition", "", "partition of the cluster to run on")
	return c
}

func newCampaignKubernetes() *cobra.Command {
	var f campaignFlags
	var k campaign.Kubernetes
	c := &cobra.Command{
		Use:   "kubernetes",
		Short: "Write the manifest of an indexed job",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.write(cmd, func(j campaign.Job) ([]byte, error) { return j.Kubernetes(k) })
		},
	}
	f.addJob(c)
	fl := c.Flags()
	fl.StringVar(&k.Image, "image", "sotto:latest",
		"container image whose entry point is sotto, such as that of deploy/Containerfile")
	fl.StringVar(&k.Claim, "claim", "sotto-results", "persistent volume claim that is mounted at --dir")
	fl.StringVar(&k.Data, "data-claim", "sotto-data",
		"persistent volume claim that is mounted at --data-dir")
	fl.IntVar(&k.Retries, "retries", 10, "retries of each pod")
	return c
}
